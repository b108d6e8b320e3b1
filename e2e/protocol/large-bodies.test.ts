import assert from 'node:assert/strict';
import { bothClients } from '../support/clients.ts';
import { assertWithin, timed } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { memoryOf, residentOf } from '../support/memory.ts';
import { familyOf } from '../support/processes.ts';
import { formatRequest, RawConnection, visit } from '../support/raw-http.ts';
import { relaySuite } from '../support/relay-suite.ts';
import { digest, payload, payloadChecksum, type Site, startSite } from '../support/services/echo.ts';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

bothClients('bodies of a GiB in constant memory', (kind) => {
  const { scope, relay, pool } = relaySuite();
  let site: Site;
  let host: string;
  let checksum: string;

  before(async () => {
    site = await startSite(scope);
    const { key } = await pool.take();
    host = hostOf((await kind.start(scope, relay, key, { localPort: site.port })).tunnel, relay);
    checksum = payloadChecksum(GIB);
  });

  it('1 GiB to the visitor arrives as it was sent', async function () {
    const connection = await RawConnection.open(scope, relay.port);
    await connection.write(formatRequest({ host, target: `/bytes/${GIB}` }));
    const head = await connection.finalHead();
    assert.equal(head.field('content-length'), String(GIB));
    assert.deepEqual(await digest(connection.body(head)), { sha256: checksum, length: GIB });
  });

  it('1 GiB from the visitor arrives as it was sent', async function () {
    const connection = await RawConnection.open(scope, relay.port);
    await connection.write(`POST /sink HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${GIB}\r\n\r\n`);
    for (const chunk of payload(GIB)) await connection.write(chunk);
    const answer = JSON.parse((await connection.response()).text) as unknown;
    assert.deepEqual(answer, { sha256: checksum, length: GIB });
  });

  it('visitors that read nothing cost the relay little and others nothing', async () => {
    const processes = familyOf(relay.child.pid);
    const before = residentOf(processes);
    const visitors = await Promise.all(
      Array.from({ length: 10 }, () => RawConnection.open(scope, relay.port)),
    );
    for (const visitor of visitors) {
      visitor.socket.pause();
      await visitor.write(formatRequest({ host, target: `/bytes/${GIB}` }));
    }
    for (let i = 0; i < 10; i += 1) {
      const { value, ms } = await timed(() => visit(relay.port, { host, target: '/bytes/100000' }));
      assert.equal(value.body.length, 100_000);
      assertWithin(ms, 0);
    }
    const grown = residentOf(processes) - before;
    assert.ok(grown < 50 * MIB, `grew by ${Math.round(grown / MIB)} MiB`);
    for (const visitor of visitors) visitor.reset();
  });

  it('all of that uses less than 230 MB in each process of the relay', () => {
    // About 120 MB of them belong to an idle relay, including 26 MB for the thread of its database.
    const peak = Math.max(...familyOf(relay.child.pid).map((pid) => memoryOf(pid).peak));
    assert.ok(peak < 230e6, `${Math.round(peak / 1e6)} MB at the most`);
  });
});
