/** The rows of docs/reliability.md, in its order. */
import type { Row } from './row.ts';
import { attackedClient } from './rows/attacked-client.ts';
import { audit } from './rows/audit.ts';
import { checksums } from './rows/checksums.ts';
import { claims } from './rows/claims.ts';
import { hostileMachine } from './rows/hostile-machine.ts';
import { hostileMessages } from './rows/hostile-messages.ts';
import { hostileTrunks } from './rows/hostile-trunks.ts';
import { idleAndDescriptors } from './rows/idle-and-descriptors.ts';
import { killRelay } from './rows/kill-relay.ts';
import { leavers } from './rows/leavers.ts';
import { leavingAndBreaking } from './rows/leaving-and-breaking.ts';
import { lockedTunnels } from './rows/locked-tunnels.ts';
import { operators } from './rows/operators.ts';
import { pooledTenants } from './rows/pooled-tenants.ts';
import { replacements } from './rows/replacements.ts';
import { secretsRow } from './rows/secrets.ts';
import { sharedQueues } from './rows/shared-queues.ts';
import { slowVisitors } from './rows/slow-visitors.ts';
import { soak } from './rows/soak.ts';
import { spellings } from './rows/spellings.ts';
import { websocketAbuse } from './rows/websocket-abuse.ts';
import { worstTenant } from './rows/worst-tenant.ts';

export const ROWS: readonly Row[] = [
  audit,
  attackedClient,
  hostileMessages,
  pooledTenants,
  spellings,
  claims,
  websocketAbuse,
  hostileTrunks,
  lockedTunnels,
  sharedQueues,
  slowVisitors,
  idleAndDescriptors,
  worstTenant,
  leavingAndBreaking,
  leavers,
  checksums,
  killRelay,
  replacements,
  operators,
  hostileMachine,
  secretsRow,
  soak,
];
