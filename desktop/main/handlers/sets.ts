import { t } from '../../i18n/translate.ts';
import { redactTarget } from '../../engine/inspector/redaction.ts';
import type { RequestDetail } from '../../engine/inspector/records.ts';
import { CallFailure } from '../failure.ts';
import type { RequestSets } from '../sets/request-sets.ts';
import { openKept, sendKept } from '../sets/send-kept.ts';
import type { Signatures } from '../signing/signatures.ts';
import type { TunnelDesk } from '../tunnels/tunnel-desk.ts';
import type { Handlers } from './handle.ts';

/** What the page may ask about requests that are kept. No secret of theirs goes back to it. */
export function setHandlers(
  desk: Pick<TunnelDesk, 'find'>,
  sets: RequestSets,
  signatures: Pick<Signatures, 'send'>,
): Pick<Handlers, Extract<keyof Handlers, `set:${string}`>> {
  const recorded = (key: string, id: number): RequestDetail => {
    const detail = desk.find(key).log.detail(id, true);
    if (detail === undefined)
      throw new CallFailure({ code: 'no-such-request', text: t('problem.requestGone') });
    return detail;
  };
  return {
    'set:list': () => ({
      sets: sets.sets.map(({ id, name, requests }) => ({
        id,
        name,
        requests: requests.map((request) => ({
          id: request.id,
          method: request.method,
          target: redactTarget(request.target),
        })),
      })),
      isKept: sets.isKept,
    }),
    'set:create': async ({ key, id, name }) => ({ set: await sets.create(name, recorded(key, id)) }),
    'set:add': async ({ key, id, set }) => {
      await sets.add(set, recorded(key, id));
      return undefined;
    },
    'set:rename': async ({ set, name }) => {
      await sets.rename(set, name);
      return undefined;
    },
    'set:remove': async ({ set }) => {
      await sets.remove(set);
      return undefined;
    },
    'set:remove-request': async ({ set, request }) => {
      await sets.removeRequest(set, request);
      return undefined;
    },
    'set:open': ({ key, set, request }) => ({ id: openKept(desk.find(key), sets.find(set, request)) }),
    'set:send': ({ key, set, request }) => sendKept(desk.find(key), sets.find(set, request), signatures),
  };
}
