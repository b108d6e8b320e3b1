import assert from 'node:assert/strict';
import { anything, array, assert as check, dictionary, jsonValue, oneof, property, string } from 'fast-check';
import { childrenOf, type JsonDocument, type JsonNode, readJson, sourceOf } from './json-document.ts';

/** The value as it is built of the nodes; repeated names are kept apart by their place. */
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

const VALUES = oneof(array(jsonValue()), dictionary(string(), jsonValue()));

describe('readJson', () => {
  it('reads what JSON.stringify writes, laid out or not', () => {
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

  it('takes what JSON.parse takes, and nothing else', () => {
    const letters = ['{', '}', '[', ']', ',', ':', '"', 'a', '\\', 'u00e9', '1', '-', '.', 'e', 'null', ' '];
    check(
      property(array(oneof(...letters.map((letter) => anything().map(() => letter)))), (parts) => {
        const text = `[${parts.join('')}`;
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        assert.equal(readJson(text, false) !== undefined, isJson, text);
      }),
      { numRuns: 2000 },
    );
  });

  it('keeps digits, repeated names and their order', () => {
    const document = readJson('{"b":12345678901234567890,"a":1.0,"b":-0,"__proto__":1e400}', false);
    assert.deepEqual(
      document?.nodes.slice(1).map((node) => `${node.name} ${sourceOf(document, node)}`),
      ['"b" 12345678901234567890', '"a" 1.0', '"b" -0', '"__proto__" 1e400'],
    );
  });

  it('is not too deep for any nesting', () => {
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
        // No value that is shown might be another one.
        if (node.count === 0 && node.kind !== 'object' && node.kind !== 'array')
          assert.equal(sourceOf(document, node), same && sourceOf(whole, same));
      }
      assert.equal(readJson(text.slice(0, end), false), undefined);
    }
  });

  it('has no tree for a value alone, or for what is no JSON', () => {
    for (const text of ['', '1', '"a"', 'null', '<p>', '{a:1}', '[1,]', '[01]', '["\n"]', '["\\x"]', '[] []'])
      assert.equal(readJson(text, true), undefined, text);
  });
});
