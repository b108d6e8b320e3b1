/** The attacker's service: the requested path says what it responds with. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Scope } from '../../../support/scope.ts';
import { SocketReader } from '../../../support/socket-reader.ts';
import { startRawService } from '../../../support/services/listen.ts';
import { crowdedFields } from '../../tools/tenant-attacks.ts';

/** What nobody but the attacker may see unasked. */
export const EVIL = 'evil';

const FORGED = '{"error":"invalid api key","code":"invalid-key"}';
const FINAL = `HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: ${FORGED.length}\r\n\r\n${FORGED}`;
/** ms in which a proxy would reuse its connection for somebody else. */
const AFTER_INTERIM_MS = 300;

const COOKIES = [
  `a=1; Path=/; Path=/`,
  `b=1; Path=""`,
  `c=1; Path=relative`,
  `d=1`,
  `e=1; path=/t/; Domain=tunnels.example.com`,
  `f=1; Domain=.tunnels.example.com; Path=/`,
];
/** Fields with an effect beyond the page that has them. */
const BEYOND = ['NEL', 'Report-To', 'Alt-Svc', 'Use-As-Dictionary', 'Service-Worker-Allowed'];
const STEERING = [
  'X-Accel-Redirect',
  'X-Accel-Buffering',
  'X-Accel-Limit-Rate',
  'X-Sendfile',
  'X-Reproxy-URL',
];

function response(fields: readonly string[], body = EVIL): string {
  return ['HTTP/1.1 200 OK', ...fields, `Content-Length: ${body.length}`, '', body].join('\r\n');
}

const CROWDED = ['103 Early Hints', '103 Early Hints', '200 OK\r\nContent-Length: 0']
  .map((start) => `HTTP/1.1 ${start}\r\n${crowdedFields(58_000, 7000)}\r\n`)
  .join('');

/** @returns its port */
export async function startEvilService(scope: Scope): Promise<number> {
  const { port } = await startRawService(scope, (socket) => {
    const reader = new SocketReader(socket);
    const write = (text: string): void => void socket.write(Buffer.from(text, 'latin1'));
    const serve = async (): Promise<void> => {
      for (;;) {
        const head = (await reader.through('\r\n\r\n')).toString('latin1');
        const [, target = ''] = head.split(' ', 2);
        if (target === '/interim') {
          write('HTTP/1.1 103 x\r\nContent-Length: 0\r\n\r\n');
          await delay(AFTER_INTERIM_MS);
          write(FINAL);
        } else if (target === '/crowded') write(CROWDED);
        else if (target === '/cookies') write(response(COOKIES.map((cookie) => `Set-Cookie: ${cookie}`)));
        else if (target === '/beyond') write(response(BEYOND.map((name) => `${name}: ${EVIL}`)));
        else if (target === '/steer') write(response(STEERING.map((name) => `${name}: /${EVIL}`)));
        else if (target === '/echo') write(response([], head));
        else write(response([]));
      }
    };
    // Those who call it may leave at any time.
    serve().catch(() => socket.destroy());
  });
  return port;
}
