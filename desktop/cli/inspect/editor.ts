import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IMPORT_MAX_BYTES } from '../../engine/limits.ts';

/** The editor could not be used; the message says why. */
export class EditorError extends Error {}

/**
 * Lets the user edit a text in the program that VISUAL or EDITOR names, as git does: they may have options.
 *
 * The text is in a file in a folder that only this user can enter, and removed afterwards: it may have secrets.
 *
 * @returns the text once the program has ended
 * @throws EditorError when it cannot be started, or fails
 */
export async function editText(text: string, env: NodeJS.ProcessEnv): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-edit-'));
  try {
    const file = join(folder, 'request.http');
    writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
    await runEditor(
      env['VISUAL'] || env['EDITOR'] || (process.platform === 'win32' ? 'notepad' : 'vi'),
      file,
    );
    if (statSync(file).size > IMPORT_MAX_BYTES)
      throw new EditorError('What was saved is too long for a request');
    return readFileSync(file, 'utf8');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function runEditor(editor: string, file: string): Promise<void> {
  const isWindows = process.platform === 'win32';
  // The shell splits what the user has set; the path is a word of its own.
  const child = isWindows
    ? spawn(`${editor} "${file}"`, { shell: true, stdio: 'inherit' })
    : spawn('sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.on('error', (error) =>
      reject(new EditorError(`"${editor}" could not be started: ${error.message}`)),
    );
    child.on('close', (code) => {
      if (code === 0) resolve();
      else reject(new EditorError(`"${editor}" has failed, so nothing was sent`));
    });
  });
}
