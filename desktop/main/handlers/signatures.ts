import type { Snapshot } from '../../shared/snapshot.ts';
import type { Signatures } from '../signing/signatures.ts';
import type { SigningSecrets } from '../signing/signing-secrets.ts';
import type { Feed } from '../snapshot/feed.ts';
import type { TunnelDesk } from '../tunnels/tunnel-desk.ts';
import type { Handlers } from './handle.ts';

/** What the page may ask about signatures of webhooks. No secret ever goes back to it. */
export function signatureHandlers(
  desk: Pick<TunnelDesk, 'find'>,
  signatures: Signatures,
  secrets: Pick<SigningSecrets, 'remove'>,
  feed: Pick<Feed<Snapshot>, 'changed'>,
): Pick<
  Handlers,
  'signature:look' | 'signature:add-secret' | 'signature:remove-secret' | 'signature:replay'
> {
  /** What the log says of its webhooks is another thing now. */
  const tellAnew = (key: string): void => {
    desk.find(key).log.tellAnew();
    feed.changed();
  };
  return {
    'signature:look': ({ key, id }) => signatures.look(desk.find(key), id),
    'signature:add-secret': async ({ key, ...secret }) => {
      await signatures.addSecret(desk.find(key), secret);
      tellAnew(key);
      return undefined;
    },
    'signature:remove-secret': async ({ key, id }) => {
      await secrets.remove(desk.find(key), id);
      tellAnew(key);
      return undefined;
    },
    'signature:replay': async ({ key, id }) => ({ id: await signatures.replay(desk.find(key), id) }),
  };
}
