import assert from 'node:assert/strict';
import type { HopResult } from '../../doctor/hop.ts';
import { checkupWords, hopWords, nextHop } from './checkup.ts';

const hop = (name: string, result: HopResult['result']): HopResult => ({
  hop: name,
  result,
  ms: 1,
  detail: '',
});
const view = (isRunning: boolean, ...results: HopResult[]) => ({
  id: 'c',
  slug: undefined,
  isRunning,
  results,
});

describe('a check of the way', () => {
  it('says what is being checked', () => {
    assert.equal(nextHop(view(true)), 'The name of the relay');
    assert.equal(nextHop(view(true, hop('dns', 'skipped'))), 'A connection to it');
    assert.equal(nextHop(view(false)), undefined);
    assert.equal(hopWords('new-one'), 'new-one');
  });

  it('says where it stops as soon as it does, and that everything works at the end only', () => {
    assert.match(checkupWords(view(true, hop('dns', 'ok'))), /^Checking/);
    assert.equal(
      checkupWords(view(true, hop('connect', 'failed'), hop('trunk', 'skipped'))),
      'It stops at: A connection to it.',
    );
    assert.equal(
      checkupWords(view(false, hop('dns', 'failed'), hop('local', 'failed'))),
      'It stops at: The name of the relay, Your server.',
    );
    assert.equal(checkupWords(view(false, hop('dns', 'ok'), hop('local', 'skipped'))), 'Everything works.');
    assert.equal(checkupWords(view(false)), 'It could not be checked.');
  });
});
