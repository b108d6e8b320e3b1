import { checkEdit } from '../editing/check-edit.ts';
import { importCurl } from './curl-import.ts';
import { importHar } from './har-import.ts';
import type { ImportedRequest } from './imported.ts';

/** What a text has to import, and why not all of it can be. */
export interface ImportedText {
  readonly requests: readonly ImportedRequest[];
  /** a sentence for each that is left out */
  readonly leftOut: readonly string[];
}

/**
 * Reads a HAR, or a `curl` command. No files are read and nothing is run.
 *
 * @throws ImportRefused for a text that is neither
 */
export function importText(text: string): ImportedText {
  const isHar = /^\uFEFF?\s*\{/.test(text);
  const all = isHar ? importHar(text.replace(/^\uFEFF/, '')) : [importCurl(text)];
  const requests: ImportedRequest[] = [];
  const leftOut: string[] = [];
  for (const [index, request] of all.entries()) {
    const [problem] = checkEdit(request);
    if (problem === undefined) requests.push(request);
    else leftOut.push(`Request ${index + 1} is left out: ${problem.text}`);
  }
  return { requests, leftOut };
}
