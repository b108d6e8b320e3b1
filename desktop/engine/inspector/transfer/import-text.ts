import { setImmediate as otherWork } from 'node:timers/promises';
import { type Said, say } from '../../said/said.ts';
import { checkEdit } from '../editing/check-edit.ts';
import { importCurl } from './curl-import.ts';
import { importHar } from './har-import.ts';
import { type ImportedRequest, ImportRefused } from './imported.ts';

/** What a text has to import, and why not all of it can be. */
export interface ImportedText {
  readonly requests: readonly ImportedRequest[];
  /** a sentence for each that is left out */
  readonly leftOut: readonly Said[];
}

/**
 * Reads a HAR, or a `curl` command. No files are read and nothing is run. Visitors are served meanwhile.
 *
 * @param most requests that it may have; the others are not even looked at
 * @throws ImportRefused for a text that is neither
 */
export async function importText(text: string, most = Infinity): Promise<ImportedText> {
  const isHar = /^\uFEFF?\s*\{/.test(text);
  const all = isHar ? importHar(text.replace(/^\uFEFF/, '')) : [importCurl(text)];
  const requests: ImportedRequest[] = [];
  const leftOut: Said[] = [];
  let number = 0;
  for (const request of all) {
    number += 1;
    if (number > most) throw new ImportRefused(say('import.tooMany', { max: most }));
    const [problem] = checkEdit(request);
    if (problem === undefined) requests.push(request);
    else leftOut.push(say('import.leftOut', { number, why: problem.said }));
    await otherWork();
  }
  return { requests, leftOut };
}
