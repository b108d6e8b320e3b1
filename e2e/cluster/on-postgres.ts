/** Loaded by mocha with `--require`: makes tests store their data on a PostgreSQL server that belongs to this run. */
import { PostgresServer } from '../support/postgres.ts';

// Mocha's worker processes also load this file, and find the server that the first process started.
const isFirst = process.env['MOCHA_WORKER_ID'] === undefined;
const server = isFirst ? await PostgresServer.start() : undefined;
if (server !== undefined) process.env['TEST_POSTGRES_URL'] = server.url;

export async function mochaGlobalTeardown(): Promise<void> {
  await server?.remove();
}
