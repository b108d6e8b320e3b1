/** A suite that is killed while everything that suites start is running. */
import { execFileSync } from 'node:child_process';
import { newDatabase, PostgresServer } from '../support/postgres.ts';
import { Relay } from '../support/programs.ts';
import { RedisServer } from '../support/redis.ts';
import { Scope } from '../support/scope.ts';

const scope = new Scope();

describe('a suite', () => {
  before(async function () {
    const postgres = await PostgresServer.start();
    const redis = await RedisServer.start(scope);
    const relay = await Relay.start(scope, {
      CULVERT_DATABASE_URL: await newDatabase(scope, postgres.url),
      CULVERT_REDIS_URL: redis.url,
      CULVERT_CLUSTER_SECRET: 's'.repeat(32),
    });
    const backends = execFileSync('ps', ['-o', 'pid=', '--ppid', String(postgres.pid)], { encoding: 'utf8' });
    // A frozen server cannot notice that its parent is gone.
    postgres.freeze();
    const pids = [postgres.pid, redis.pid, relay.child.pid, ...backends.trim().split(/\s+/).map(Number)];
    console.log(JSON.stringify({ pids }));
  });

  it('that is interrupted', async () => {
    await new Promise(() => {});
  }).timeout(5000);
});
