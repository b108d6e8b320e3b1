/**
 * A network with latency: `delay-proxy.ts TARGET_PORT MS` forwards bytes with a delay of MS each way. A TCP handshake
 * would also take a round trip, so data counts as sent no earlier than that after the start of its connection. Prints
 * `listening PORT`.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

const [targetPort = 0, delayMs = 0] = process.argv.slice(2).map(Number);

const server = createServer({ noDelay: true, allowHalfOpen: true }, (near) => {
  const established = performance.now() + 2 * delayMs;
  const far = connect({ port: targetPort, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
  passDelayed(near, far, established);
  passDelayed(far, near, established);
});

function passDelayed(from: Socket, to: Socket, notBefore: number): void {
  const later = (action: () => void): void => {
    setTimeout(action, Math.max(0, notBefore - performance.now()) + delayMs);
  };
  from.on('data', (chunk: Buffer) => later(() => to.write(chunk)));
  from.on('end', () => later(() => to.end()));
  from.on('error', () => {});
  from.on('close', () => later(() => to.destroy()));
}

server.listen(0, '127.0.0.1', () => {
  console.log(`listening ${(server.address() as AddressInfo).port}`);
});
