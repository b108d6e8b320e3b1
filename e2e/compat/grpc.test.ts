/** A gRPC stream stays open through a tunnel for longer than a request without a response may be silent. */
import assert from 'node:assert/strict';
import { Client, type ClientDuplexStream, credentials } from '@grpc/grpc-js';
import { Authority } from '../support/certificates.ts';
import { assertAtLimit } from '../support/deadline.ts';
import { Culvert, Relay } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';
import { ECHO, startGrpcService } from '../support/services/grpc.ts';

/** Longer than a request without a response may be silent. */
const SILENT_MS = 75_000;
const identity = (bytes: Buffer): Buffer => bytes;

describe('gRPC through a tunnel', () => {
  const scope = suiteScope();

  it('keeps a stream open both ways on which only the service speaks', async () => {
    const authority = new Authority(scope);
    const { cert, key } = authority.issue('*.tunnels.test');
    const secure = await Relay.start(scope, {
      CULVERT_HTTP2: 'on',
      CULVERT_TLS_CERT: cert,
      CULVERT_TLS_KEY: key,
      CULVERT_TUNNEL_DOMAIN: 'tunnels.test',
    });
    const { port } = await startGrpcService(scope);
    const trust = { NODE_EXTRA_CA_CERTS: authority.path };
    await Culvert.start(
      scope,
      secure,
      secure.bootstrapKey,
      port,
      ['--name', 'grpc', '--upstream', 'h2c'],
      trust,
    );
    const client = new Client(`127.0.0.1:${secure.port}`, credentials.createSsl(authority.pem), {
      'grpc.ssl_target_name_override': 'grpc.tunnels.test',
      'grpc.default_authority': `grpc.tunnels.test:${secure.port}`,
    });
    scope.defer(() => client.close());
    const both: ClientDuplexStream<Buffer, Buffer> = client.makeBidiStreamRequest(
      ECHO.Both.path,
      identity,
      identity,
    );
    const begin = performance.now();
    both.write(Buffer.from('tick'));
    for await (const piece of both) {
      assert.equal(String(piece), 'tick');
      if (performance.now() - begin > SILENT_MS) both.end();
    }
    assertAtLimit(performance.now() - begin, SILENT_MS);
  });
});
