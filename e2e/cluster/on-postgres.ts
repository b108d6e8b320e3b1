/** Loaded by mocha with `--require`: what the tests store is on a PostgreSQL server of this run. */
import { PostgresServer } from '../support/postgres.ts';

// Processes in which mocha runs tests load this file, too, and find the server of the first one.
const isFirst = process.env['MOCHA_WORKER_ID'] === undefined;
const server = isFirst ? await PostgresServer.start() : undefined;
if (server !== undefined) process.env['TEST_POSTGRES_URL'] = server.url;

export async function mochaGlobalTeardown(): Promise<void> {
  await server?.remove();
}
