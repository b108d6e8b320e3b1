/** What all connections to PostgreSQL have in common. */
import { type ClientConfig, type CustomTypesConfig, types as pgTypes } from 'pg';
import { POSTGRES_CONNECT_TIMEOUT_MS, KEEP_ALIVE_MS, POSTGRES_QUERY_TIMEOUT_MS } from '../../limits.ts';
import type { DatabaseAddress } from '../address.ts';

export type PostgresAddress = Extract<DatabaseAddress, { kind: 'postgres' }>;

/** `bigint` columns hold what JavaScript counts exactly: times in ms, bytes, requests. */
const types: CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === pgTypes.builtins.INT8 ? Number : pgTypes.getTypeParser(oid, format),
};

/** The settings of every connection; the parameters of the address win. */
export const CONNECTION: ClientConfig = {
  types,
  application_name: 'culvert-relay',
  connectionTimeoutMillis: POSTGRES_CONNECT_TIMEOUT_MS,
  keepAlive: true,
  keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  query_timeout: POSTGRES_QUERY_TIMEOUT_MS,
  // What is acknowledged is on the disk, whatever the server's own default is.
  options: '-c synchronous_commit=on',
};
