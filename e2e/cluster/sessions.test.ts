import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Authority, begin, resume, type TlsVersion } from '../support/certificates.ts';
import { RelayCluster } from '../support/cluster.ts';
import { temporaryDirectory } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';

describe('TLS sessions of a cluster', function () {
  const scope = suiteScope();
  let authority: Authority;
  let cluster: RelayCluster;

  before(async () => {
    authority = new Authority(scope);
    const { cert, key } = authority.issue();
    cluster = await RelayCluster.start(scope, 2, { CULVERT_TLS_CERT: cert, CULVERT_TLS_KEY: key });
  });

  for (const version of ['tls1_2', 'tls1_3'] satisfies TlsVersion[]) {
    it(`(${version}) are resumed at any of its relays`, () => {
      const session = join(temporaryDirectory(scope), 'session');
      const at = { authority: authority.path, version, session };
      assert.equal(begin({ ...at, port: cluster.relay(0).port }).reused, false);
      assert.equal(resume({ ...at, port: cluster.relay(1).port }).reused, true);
    });
  }
});
