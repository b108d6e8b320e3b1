/** Several relays on one PostgreSQL database and one Redis. */
import { Api } from './api.ts';
import { newDatabase } from './postgres.ts';
import { type Environment, newApiKey, POSTGRES_URL, RelayProgram } from './programs.ts';
import { RedisServer } from './redis.ts';
import type { Scope } from './scope.ts';

export class RelayCluster {
  readonly relays: readonly RelayProgram[];
  readonly redis: RedisServer;
  readonly key: string;
  /** address of the database */
  readonly database: string;

  private constructor(relays: readonly RelayProgram[], redis: RedisServer, key: string, database: string) {
    this.relays = relays;
    this.redis = redis;
    this.key = key;
    this.database = database;
  }

  /** @param postgres a server; the one of this run by default */
  static async start(
    scope: Scope,
    count: number,
    settings: Environment = {},
    postgres = POSTGRES_URL,
  ): Promise<RelayCluster> {
    if (postgres === undefined) throw new Error('needs PostgreSQL: run npm test -- cluster');
    const [redis, database] = await Promise.all([RedisServer.start(scope), newDatabase(scope, postgres)]);
    const key = newApiKey();
    const shared = {
      CULVERT_DATABASE_URL: database,
      CULVERT_REDIS_URL: redis.url,
      CULVERT_CLUSTER_SECRET: 's'.repeat(32),
      CULVERT_BOOTSTRAP_KEY: key,
      ...settings,
    };
    const relays = await Promise.all(Array.from({ length: count }, () => RelayProgram.start(scope, shared)));
    return new RelayCluster(relays, redis, key, database);
  }

  /** @param index from 0 */
  relay(index: number): RelayProgram {
    const relay = this.relays[index];
    if (relay === undefined) throw new RangeError(`there is no relay ${index}`);
    return relay;
  }

  /** The API of one of the relays, with the bootstrap account's key. */
  api(index: number): Api {
    return new Api(this.relay(index), this.key);
  }
}
