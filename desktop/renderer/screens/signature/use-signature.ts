import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { RequestDetail } from '../../../engine/inspector/records.ts';
import type { SignatureCheck } from '../../../shared/signatures.ts';
import { useShell } from '../../view/context.ts';

export interface WatchedSignature {
  /** `undefined` for what is no webhook, and until there was an answer */
  readonly check: SignatureCheck | undefined;
  readonly reload: () => Promise<void>;
}

/** What the signature of a request says; looked at again as more of the request comes. */
export function useSignature(
  key: string,
  { id, bytesIn }: Pick<RequestDetail, 'id' | 'bytesIn'>,
): WatchedSignature {
  const { bridge } = useShell();
  const [check, setCheck] = useState<SignatureCheck>();
  const asked = useRef(0);
  const reload = useCallback(async () => {
    asked.current += 1;
    const mine = asked.current;
    const answer = await bridge.call('signature:look', { key, id });
    // A result that a later question has overtaken is not shown.
    if (mine === asked.current && answer.ok) setCheck(answer.value);
  }, [bridge, key, id]);
  useEffect(() => {
    // Without main there is nothing to show, and the rest of the screen says so.
    reload().catch(() => undefined);
    return () => {
      asked.current += 1;
    };
  }, [reload, bytesIn]);
  return { check, reload };
}
