import assert from 'node:assert/strict';
import {
  array,
  assert as check,
  constantFrom,
  dictionary,
  jsonValue,
  nat,
  oneof,
  property,
  string,
  tuple,
} from 'fast-check';
import {
  childrenOf,
  type JsonDocument,
  jsonFault,
  type JsonNode,
  readJson,
  sourceOf,
} from './json-document.ts';

/** The value rebuilt from the nodes; repeated names are distinguished by their position. */
function rebuilt(document: JsonDocument, number = 0): unknown {
  const node = document.nodes[number];
  assert.ok(node);
  const children = childrenOf(document, number, Infinity);
  assert.equal(children.length, node.count);
  if (node.kind === 'array') return children.map((child) => rebuilt(document, child));
  if (node.kind === 'object')
    return Object.fromEntries(
      children.map((child) => [
        JSON.parse(document.nodes[child]?.name ?? '') as string,
        rebuilt(document, child),
      ]),
    );
  return JSON.parse(sourceOf(document, node));
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const VALUES = oneof(array(jsonValue()), dictionary(string(), jsonValue()));

describe('readJson', () => {
  it('reads the output of JSON.stringify, formatted or not', () => {
    check(
      property(VALUES, (value) => {
        const text = JSON.stringify(value);
        for (const written of [text, ` ${JSON.stringify(JSON.parse(text), undefined, '\t')}\r\n`]) {
          const document = readJson(written, false);
          assert.ok(document);
          assert.deepEqual(JSON.stringify(rebuilt(document)), JSON.stringify(JSON.parse(text)));
        }
      }),
    );
  });

  it('accepts exactly what JSON.parse accepts', () => {
    const pieces = [
      '',
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      'a',
      '\\',
      '\\u00e9',
      '0',
      '-',
      '.',
      'e',
      'null',
      ' ',
      '\n',
    ];
    const edits = array(tuple(nat(), nat(1), constantFrom(...pieces)), { maxLength: 2 });
    let valid = 0;
    check(
      property(VALUES, edits, (value, changes) => {
        const text = changes.reduce((before, [place, removed, added]) => {
          const at = place % before.length;
          return `${before.slice(0, at)}${added}${before.slice(at + removed)}` || ' ';
        }, JSON.stringify(value));
        // A document is an object or an array.
        const isJson = /^\s*[[{]/.test(text) && parses(text);
        if (isJson) valid += 1;
        assert.equal(readJson(text, false) !== undefined, isJson, text);
      }),
      { numRuns: 2000 },
    );
    assert.ok(valid > 400 && valid < 1600, `${valid} of 2000 texts were JSON`);
  });

  it('keeps digits, repeated names and their order', () => {
    const document = readJson('{"b":12345678901234567890,"a":1.0,"b":-0,"__proto__":1e400}', false);
    assert.deepEqual(
      document?.nodes.slice(1).map((node) => `${node.name} ${sourceOf(document, node)}`),
      ['"b" 12345678901234567890', '"a" 1.0', '"b" -0', '"__proto__" 1e400'],
    );
  });

  it('handles any depth', () => {
    const depth = 500_000;
    const document = readJson('['.repeat(depth) + ']'.repeat(depth), false);
    assert.equal(document?.nodes.length, depth);
    assert.equal(readJson('[{"a":'.repeat(100_000), true)?.nodes.length, 200_000);
  });

  it('shows the beginning of a document that is cut anywhere', () => {
    const text = '{"a":[1,true,"x\\u00e9\\"",{"b":null}],"c":-1.5e3}';
    const whole = readJson(text, true);
    assert.equal(whole?.isCut, false);
    for (let end = 1; end < text.length; end++) {
      const document = readJson(text.slice(0, end), true);
      assert.equal(document?.isCut, true, String(end));
      for (const [number, node] of document.nodes.entries()) {
        const same: JsonNode | undefined = whole.nodes[number];
        assert.deepEqual([node.kind, node.name, node.start], [same?.kind, same?.name, same?.start]);
        // A value that may be incomplete must not be shown.
        if (node.count === 0 && node.kind !== 'object' && node.kind !== 'array')
          assert.equal(sourceOf(document, node), same && sourceOf(whole, same));
      }
      assert.equal(readJson(text.slice(0, end), false), undefined);
    }
  });

  it('has no tree for a single value or invalid JSON', () => {
    for (const text of ['', '1', '"a"', 'null', '<p>', '{a:1}', '[1,]', '[01]', '["\n"]', '["\\x"]', '[] []'])
      assert.equal(readJson(text, true), undefined, text);
  });
});

describe('jsonFault', () => {
  it('finds no fault in what JSON.parse accepts', () => {
    for (const text of ['{"a":[1,2.5,"x",null]}', '[]', '"alone"', '5', 'true', ' {}\n'])
      assert.equal(jsonFault(text), undefined, text);
  });

  it('reports the line, the column and the text at the fault', () => {
    const cases: readonly [text: string, line: number, column: number, found: string][] = [
      ['{"a":1,}', 1, 8, '}'],
      ["{\n  'a': 1\n}", 2, 3, "'a': 1"],
      ['{"a":1}\r\n{"a":2}\r\n', 2, 1, '{"a":2}'],
      ['[1,\n\n  nul]', 3, 3, 'nul]'],
      ['["a\\x"]', 1, 4, '\\x"]'],
      ['<!doctype html><title>', 1, 1, '<!doctype html><'],
      ['{"a":', 1, 6, ''],
      ['{\n"a":"b', 2, 7, ''],
      ['', 1, 1, ''],
    ];
    for (const [text, line, column, found] of cases)
      assert.deepEqual(jsonFault(text), { line, column, found }, text);
  });

  it('agrees with JSON.parse for any text with one changed character', () => {
    const whole = '{"a":[1,-2.5e3,"x\\u00e9",null,true],"b":{"c":{}}}';
    for (let at = 0; at < whole.length; at += 1) {
      for (const put of ['', '}', ',', '"', 'x']) {
        const text = whole.slice(0, at) + put + whole.slice(at + 1);
        const said = saidOf(text);
        const fault = jsonFault(text);
        assert.equal(fault === undefined, said === undefined, text);
        const place = /at position (\d+)/.exec(said ?? '')?.[1];
        // A number or a word is reported at its start, not where it goes wrong.
        if (fault !== undefined && place !== undefined) assert.ok(fault.column - 1 <= Number(place), text);
      }
    }
  });
});

/** The error message of JSON.parse for a text. */
function saidOf(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return String(error);
  }
}
