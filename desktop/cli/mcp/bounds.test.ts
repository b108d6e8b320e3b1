import assert from 'node:assert/strict';
import { OPEN } from '../../../shared/access.ts';
import { boundedExtension, boundedTtl, type Bounds, checkAccess, checkPort } from './bounds.ts';
import { ToolFailure } from './parameters.ts';

const FREE: Bounds = { ports: undefined, maxTtl: undefined, requireAccess: false, ask: false };
const HOUR: Bounds = { ...FREE, maxTtl: 3600 };
const AT = Date.parse('2026-07-10T12:00:00Z');

/** A tunnel that ends so many minutes after {@link AT}. */
function endsIn(minutes: number) {
  return { expires_at: new Date(AT + minutes * 60_000).toISOString() };
}

describe('bounds', () => {
  it('allow ports including both ends', () => {
    const ports = [
      { from: 3000, to: 3999 },
      { from: 8080, to: 8080 },
    ];
    for (const port of [3000, 3999, 8080]) checkPort({ ...FREE, ports }, port);
    for (const port of [2999, 4000, 8081, 22])
      assert.throws(
        () => checkPort({ ...FREE, ports }, port),
        (error) =>
          error instanceof ToolFailure &&
          error.message.includes(
            `Port ${port} is not allowed. The owner allows ports 3000 to 3999, port 8080`,
          ),
      );
    checkPort(FREE, 22);
  });

  it('limit the lifetime of a new tunnel, and give one that has none the longest', () => {
    assert.equal(boundedTtl(FREE, undefined), undefined);
    assert.equal(boundedTtl(HOUR, undefined), '1h0m0s');
    assert.equal(boundedTtl(HOUR, '60m'), '60m');
    for (const ttl of ['60m1s', '1.1h', '3601000ms', '9'.repeat(400) + 'h'])
      assert.throws(() => boundedTtl(HOUR, ttl), /at most 1h0m0s/, ttl);
  });

  it('limit an extension so that the tunnel ends within the longest lifetime from now', () => {
    assert.equal(boundedExtension(HOUR, endsIn(20), '40m', AT), '2400s');
    assert.equal(boundedExtension(HOUR, endsIn(20), undefined, AT), '2400s');
    assert.throws(() => boundedExtension(HOUR, endsIn(20), '41m', AT), /at most 40m0s can be added/);
    assert.throws(() => boundedExtension(HOUR, endsIn(60), '1s', AT), /cannot be extended yet/);
    assert.throws(() => boundedExtension(HOUR, endsIn(90), undefined, AT), /cannot be extended yet/);
    assert.equal(boundedExtension(FREE, endsIn(90), '9h', AT), '9h');
  });

  it('do not take a list of networks for an access policy', () => {
    const guarded = { ...FREE, requireAccess: true };
    for (const access of [
      OPEN,
      { ...OPEN, allow: ['0.0.0.0/0', '::/0'] },
      { ...OPEN, allow: ['10.0.0.0/8'] },
    ])
      assert.throws(() => checkAccess(guarded, access), /open to everybody/);
    for (const access of [
      { ...OPEN, links: true },
      { ...OPEN, knock: true },
      { ...OPEN, password: 'three' },
    ])
      checkAccess(guarded, access);
    checkAccess(FREE, OPEN);
  });
});
