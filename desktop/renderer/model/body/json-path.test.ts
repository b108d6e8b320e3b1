import assert from 'node:assert/strict';
import { readJson } from './json-document.ts';
import { jsonPath } from './json-path.ts';

function paths(text: string): string[] {
  const document = readJson(text, false);
  assert.ok(document);
  return document.nodes.map((_, number) => jsonPath(document, number));
}

describe('jsonPath', () => {
  it('names where a value stands', () => {
    assert.deepEqual(paths('{"a":[{"b":1},2],"é_1":[]}'), [
      '$',
      '$.a',
      '$.a[0]',
      '$.a[0].b',
      '$.a[1]',
      '$.é_1',
    ]);
  });

  it('quotes what is no plain name, and shows what hides in one', () => {
    assert.deepEqual(
      paths(`{"b c":0,"1":0,"":0,"it's":0,"\\n\\\\":0,"\\u0000\u202e":0,"\\ud800":0,"x-y":0}`).slice(1),
      [
        "$['b c']",
        "$['1']",
        "$['']",
        "$['it\\'s']",
        "$['\\n\\\\']",
        "$['\\u0000\\u202e']",
        "$['\\ud800']",
        "$['x-y']",
      ],
    );
  });
});
