/** `culvert update`: replaces the single-file program with the one that the relay hands out. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGunzip } from 'node:zlib';
import { VERSION } from '../../../shared/version.ts';
import { readNetwork } from '../../client/config/relay-access.ts';
import { UsageError } from '../../client/failures.ts';
import { textOf } from '../../client/messages.ts';
import { describeNetworkError } from '../../client/network/dial.ts';
import { call, type Network, withResponse } from '../../client/network/network.ts';
import { isSingleFile } from '../../client/own-program.ts';
import { unreachable } from '../../client/relay/errors.ts';
import type { RelayAddress } from '../../client/relay/relay-address.ts';
import { defineCommand } from '../command-line/command.ts';
import { jsonLine } from '../output/format.ts';
import type { Output } from '../output/reporter.ts';

/** How long `culvert update` waits for the digest of the relay's program. */
const DIGEST_TIMEOUT_MS = 30_000;
/** How long `culvert update` may take for the download: 42 MB over a slow line. */
const DOWNLOAD_TIMEOUT_MS = 1_800_000;
/** Maximum size of a program that `culvert update` takes. */
const PROGRAM_MAX_BYTES = 512 * 1024 * 1024;
/** How long a new program may take to say its version before it replaces the old one. */
const TRIAL_TIMEOUT_MS = 30_000;

const SYSTEMS: Readonly<Record<string, string>> = { darwin: 'macos', win32: 'windows' };

/** The program stays as it is. The message says why. */
class UpdateError extends Error {}

export const updateCommand = defineCommand({
  name: 'update',
  summary: "Replace culvert with the relay's version",
  options: { Output: ['json'] },
  examples: { 'culvert update': 'install the version that your relay provides' },
  details: `
    This works if culvert is a single file, as installed from a relay's page /install. The new program comes only from
    the relay that you are signed in to. It replaces the old one after the download is complete and the new program has
    started. Open tunnels continue with the old program.`,
  read(line) {
    const login = line.files.readLogin();
    const { json = false } = line.values;
    const network = login && readNetwork(line.accessSources(), login.relay, login.ca);
    return { relay: login?.relay, network, json };
  },
  async run({ relay, network, json }, { output }) {
    if (relay === undefined || network === undefined)
      throw new UsageError(
        'An update comes from the relay that you are signed in to. Run "culvert login" first.',
      );
    if (!isSingleFile)
      throw new UpdateError(
        'This culvert is not a single file. Update it the way that it was installed, with npm for example',
      );
    const system = `${SYSTEMS[process.platform] ?? process.platform}-${process.arch}`;
    await runUpdate({ relay, network, json, program: process.execPath, system }, output);
  },
});

interface Update {
  readonly relay: RelayAddress;
  readonly network: Network;
  readonly json: boolean;
  /** the path of the program to replace */
  readonly program: string;
  /** as the relay calls it, such as `linux-x64` */
  readonly system: string;
}

/** @throws UpdateError, RelayUnreachable */
export async function runUpdate(update: Update, output: Output): Promise<void> {
  const { relay, program, json } = update;
  const wanted = await wantedDigest(update);
  if ((await digestOf(program)) === wanted) {
    const text = `culvert ${VERSION} is what ${relay.origin} hands out.\n`;
    return output.out(json ? jsonLine({ version: VERSION, updated: false }) : text);
  }
  const isWindows = process.platform === 'win32';
  const draft = join(dirname(program), `.culvert-${process.pid}${isWindows ? '.exe' : ''}`);
  let version: string;
  try {
    await download(update, draft, wanted);
    await chmod(draft, 0o755);
    version = await versionOf(draft);
    // Windows does not replace the file of a program that runs, but lets it have another name.
    if (isWindows) await rename(program, join(dirname(program), 'culvert-old.exe'));
    await rename(draft, program);
  } catch (error) {
    await rm(draft, { force: true });
    throw explained(error, program);
  }
  output.out(
    json
      ? jsonLine({ version, updated: true })
      : `Updated culvert from ${VERSION} to ${version}: ${program}\n`,
  );
}

/** @returns SHA-256 in hex of the program that the relay has */
async function wantedDigest({ relay, network, system }: Update): Promise<string> {
  const wanted = {
    ...get(`/download/culvert-${system}.sha256`),
    maxBytes: 1024,
    timeoutMs: DIGEST_TIMEOUT_MS,
  };
  const { status, text } = await call(network, relay, wanted).catch(async (error: unknown) => {
    throw await unreachable(error, network, relay);
  });
  const digest = /^[0-9a-f]{64}(?=\s|$)/.exec(text)?.[0];
  if (status === 200 && digest !== undefined) return digest;
  throw new UpdateError(`${relay.origin} hands out no culvert for ${system}`);
}

async function download({ relay, network, system }: Update, path: string, wanted: string): Promise<void> {
  const request = { ...get(`/download/culvert-${system}`), timeoutMs: DOWNLOAD_TIMEOUT_MS };
  const hash = createHash('sha256');
  let size = 0;
  const count = new Transform({
    transform(piece: Buffer, _encoding, done) {
      hash.update(piece);
      size += piece.length;
      if (size > PROGRAM_MAX_BYTES) done(new UpdateError(`The program of ${relay.origin} is too large`));
      else done(undefined, piece);
    },
  });
  await withResponse(network, relay, request, async (response) => {
    if (response.statusCode !== 200)
      throw new UpdateError(`${relay.origin} does not hand out its program at the moment. Try again later`);
    const isPacked = response.headers['content-encoding'] === 'gzip';
    const file = createWriteStream(path, { flags: 'wx', mode: 0o600 });
    await pipeline([response, ...(isPacked ? [createGunzip()] : []), count, file]);
  });
  if (hash.digest('hex') !== wanted)
    throw new UpdateError(`The program that arrived is not the one that ${relay.origin} has. Try again`);
}

function get(path: string) {
  return { method: 'GET', path, headers: { 'accept-encoding': 'gzip' }, body: undefined };
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path) as AsyncIterable<Buffer>) hash.update(piece);
  return hash.digest('hex');
}

/** @throws Error if the program does not run here */
async function versionOf(program: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(program, ['--version'], { timeout: TRIAL_TIMEOUT_MS });
    return stdout.trim().replace(/^culvert /, '');
  } catch (error) {
    const { stderr = '' } = error as { readonly stderr?: string };
    throw new UpdateError(
      `The relay's program does not run here: ${stderr.trim() || (error as Error).message}`,
    );
  }
}

/** @returns the failure in words */
function explained(error: unknown, program: string): UpdateError {
  if (error instanceof UpdateError) return error;
  const { code = '' } = error as NodeJS.ErrnoException;
  if (['EACCES', 'EPERM', 'EROFS'].includes(code))
    return new UpdateError(`${program} cannot be replaced: you may not write to its folder`);
  if (code === 'ENOSPC') return new UpdateError(`${dirname(program)} is full: an update needs 120 MB there`);
  return new UpdateError(`The download broke off (${textOf(describeNetworkError(error))}). Try again`);
}
