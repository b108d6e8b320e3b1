/** Messages that a hostile or broken program may send, for properties of their parsers. */
import * as fc from 'fast-check';

/**
 * Texts that have broken parsers: endless, with an unpaired surrogate, or with a special meaning in an address or a
 * path.
 */
const ODD_TEXTS = [
  '',
  '\ud800',
  '\u0000',
  '\r\nX: y',
  '../..',
  '?a=b&c',
  '%',
  '__proto__',
  'constructor',
  '1e999',
  'NaN',
  '-0',
  'x'.repeat(5000),
];

const oddNumber = fc.constantFrom(-1, 0, 0.5, 1e21, 2 ** 53, -0, 1e308, Number.MAX_VALUE);
const oddText = fc.oneof(fc.constantFrom(...ODD_TEXTS), fc.string({ unit: 'binary' }), fc.string());

/** Any JSON value, often an odd one. */
export const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ depthSize: 'small' }),
  oddText,
  oddNumber,
  fc.constantFrom(null, true, [], {}, [[]], [null], { length: 1e9 }, { toString: 'x', valueOf: 1 }),
);

/**
 * A valid value with some of its parts, at any depth, replaced or removed; sometimes unchanged, sometimes something
 * else altogether.
 */
export function mutated(valid: unknown): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 1, arbitrary: anyJson }, { weight: 6, arbitrary: partly(valid) });
}

function partly(valid: unknown): fc.Arbitrary<unknown> {
  const kept = fc.constant(valid);
  if (Array.isArray(valid)) {
    const items = fc.tuple(...valid.map((item) => either(item)));
    return fc.oneof(
      items,
      items.map((list) => [...list, ...list]),
      fc.array(anyJson, { maxLength: 4 }),
    );
  }
  if (typeof valid === 'object' && valid !== null) {
    const entries = Object.entries(valid).map(([name, value]) =>
      fc.oneof(
        { weight: 8, arbitrary: either(value).map((part) => [[name, part]] as const) },
        { weight: 1, arbitrary: fc.constant([] as const) },
      ),
    );
    return fc.tuple(...entries).map((parts) => Object.fromEntries(parts.flat()));
  }
  return fc.oneof(kept, anyJson);
}

function either(value: unknown): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 5, arbitrary: fc.constant(value) }, { weight: 2, arbitrary: partly(value) });
}
