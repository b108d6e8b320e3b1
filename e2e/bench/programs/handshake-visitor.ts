/**
 * Visitors that only perform TLS handshakes: `handshake-visitor.ts PORT AUTHORITY VERSION full|resumed COUNT NAMES
 * FIRST`. They name host `FIRST` and the following ones, cycling through `NAMES`. Prints `seconds S`.
 */
import { readFileSync } from 'node:fs';
import type { SecureVersion } from 'node:tls';
import { shakeHands } from '../handshakes.ts';

const VISITORS = 16;

const [port, authority = '', version, kind, count, names, first] = process.argv.slice(2);
const seconds = await shakeHands({
  port: Number(port),
  authority: readFileSync(authority),
  version: version as SecureVersion,
  resumes: kind === 'resumed',
  visitors: VISITORS,
  count: Number(count),
  names: Number(names),
  first: Number(first),
});
console.log(`seconds ${seconds}`);
