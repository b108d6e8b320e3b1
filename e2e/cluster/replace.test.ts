import assert from 'node:assert/strict';
import { suiteScope } from '../support/scope.ts';
import { Scene } from './replacement-scene.ts';

const TIMES = 3;

describe('serve --replace of a relay that uses PostgreSQL alone', () => {
  const scope = suiteScope();

  it(`loses no request, ${TIMES} times in a row under load`, async () => {
    assert.ok(
      process.env['TEST_POSTGRES_URL'],
      'this suite runs with --require ./e2e/cluster/on-postgres.ts',
    );
    const scene = await Scene.start(scope, false);
    const { faults, miscounted, missing, created, tookMs, requests, longestMs } = await scene.replace(TIMES);
    console.log(
      `      ${requests} requests, the longest took ${longestMs} ms; ${created} tunnels made meanwhile`,
    );
    assert.deepEqual(faults, []);
    assert.deepEqual(
      { miscounted, missing, replaced: tookMs.length },
      { miscounted: 0, missing: 0, replaced: TIMES },
    );
    assert.ok(created > 0);
  });
});
