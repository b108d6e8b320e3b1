/** Loaded by mocha with `--require`: what the tests store is on a PostgreSQL server of this run. */
import { PostgresServer } from '../support/postgres.ts';

const server = await PostgresServer.start();
process.env['TEST_POSTGRES_URL'] = server.url;

export async function mochaGlobalTeardown(): Promise<void> {
  await server.remove();
}
