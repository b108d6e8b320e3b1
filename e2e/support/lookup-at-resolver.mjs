// Programs started with `--import` of this file resolve names at CULVERT_TEST_RESOLVER, as if the system were
// configured for it. The system's own configuration cannot name a port.
import dns from 'node:dns';
import { isIP } from 'node:net';

const resolver = new dns.Resolver({ timeout: 2000, tries: 3 });
resolver.setServers([process.env.CULVERT_TEST_RESOLVER]);
const { lookup } = dns;

dns.lookup = (host, options, callback) => {
  const [wanted, done] = typeof options === 'function' ? [{}, options] : [options, callback];
  if (isIP(host) !== 0 || host === 'localhost') return lookup(host, wanted, done);
  return resolver.resolve4(host, (error, addresses = []) => {
    if (error) return done(error);
    if (wanted.all)
      return done(
        null,
        addresses.map((address) => ({ address, family: 4 })),
      );
    return done(null, addresses[0], 4);
  });
};
