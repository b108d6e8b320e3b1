/** What the browser does for main: the clipboard, tabs, downloads and files. */
import type { Asks } from '../../ipc/wire.ts';

type Does = {
  readonly [A in keyof Asks]: (given: Asks[A]['given']) => unknown;
};

export const DOES: Does = {
  copy,
  open: (url) => window.open(url, '_blank') !== null,
  save({ name, text }) {
    const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
    const link = document.createElement('a');
    link.href = url;
    link.download = name;
    link.click();
    // The download has begun with the click.
    window.setTimeout(() => URL.revokeObjectURL(url), 60_000);
    return true;
  },
  file: chooseFile,
  folder: (question) => window.prompt(question) ?? undefined,
};

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Over plain HTTP from another machine there is no clipboard, and some browsers want the click itself.
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const before = document.activeElement;
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'unseen';
  // A dialog makes everything outside of it inert.
  (document.querySelector('dialog[open]') ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return isCopied;
}

/** @returns `undefined` if the user chooses none */
function chooseFile(accept: string): Promise<File | undefined> {
  const field = document.createElement('input');
  field.type = 'file';
  field.accept = accept;
  return new Promise((resolve) => {
    field.addEventListener('change', () => resolve(field.files?.[0]));
    field.addEventListener('cancel', () => resolve(undefined));
    field.click();
  });
}
