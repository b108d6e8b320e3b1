/**
 * Everything that `culvert-relay serve` needs before it listens, as one file to load
 * (docs/decisions/0015-bundled-programs.md).
 */
export { systemClock } from '../clock.ts';
export { loadConfig } from '../config.ts';
export { AccessFile } from '../observe/access-log.ts';
export { createAccessLog } from '../observe/access-log.ts';
export { createLog, finishLog, stderrStream } from '../observe/logger.ts';
export { startRelay } from '../relay.ts';
export { serve } from './serve.ts';
