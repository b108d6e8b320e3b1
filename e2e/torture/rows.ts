/** The rows of docs/reliability.md, in its order. */
import type { Row } from './row.ts';
import { hostileMessages } from './rows/hostile-messages.ts';
import { idleAndDescriptors } from './rows/idle-and-descriptors.ts';
import { slowVisitors } from './rows/slow-visitors.ts';
import { spellings } from './rows/spellings.ts';
import { websocketAbuse } from './rows/websocket-abuse.ts';

export const ROWS: readonly Row[] = [
  hostileMessages,
  spellings,
  websocketAbuse,
  slowVisitors,
  idleAndDescriptors,
];
