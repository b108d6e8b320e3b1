import assert from 'node:assert/strict';
import { PLANS } from '../../shared/tunnel.ts';
import { PLAN_RULES, ttlLimitsOf } from './accounts.ts';

const DAY = 24 * 3600;
const ALL = { kind: 'all' } as const;

describe('plans', () => {
  it('allow more the higher they are', () => {
    const ascending = PLANS.map((plan) => PLAN_RULES[plan]);
    for (const limit of ['maxTunnels', 'maxConnections', 'maxTtl'] as const) {
      const values = ascending.map((rules) => rules[limit] ?? Infinity);
      assert.deepEqual(
        values,
        values.toSorted((a, b) => a - b),
      );
    }
  });

  it('limit the longest ttl together with the relay: the smaller value applies', () => {
    assert.equal(ttlLimitsOf('free', { defaultTtl: 3600, maxTtl: 7 * DAY }, ALL).maxTtl, DAY);
    assert.equal(ttlLimitsOf('free', { defaultTtl: 3600, maxTtl: 7200 }, ALL).maxTtl, 7200);
    assert.equal(ttlLimitsOf('dev', { defaultTtl: 3600, maxTtl: 7 * DAY }, ALL).maxTtl, 7 * DAY);
  });

  it('limit an agent to an hour, by default too', () => {
    const relay = { defaultTtl: 4 * 3600, maxTtl: 7 * DAY };
    const limits = ttlLimitsOf('dev', relay, { kind: 'agent', prefix: 'ai' });
    assert.deepEqual(limits, { defaultTtl: 3600, maxTtl: 3600 });
    assert.equal(
      ttlLimitsOf('dev', { defaultTtl: 60, maxTtl: 600 }, { kind: 'agent', prefix: 'ai' }).maxTtl,
      600,
    );
  });

  it('have no default ttl above the longest', () => {
    assert.deepEqual(ttlLimitsOf('free', { defaultTtl: 2 * DAY, maxTtl: 7 * DAY }, ALL), {
      defaultTtl: DAY,
      maxTtl: DAY,
    });
  });
});
