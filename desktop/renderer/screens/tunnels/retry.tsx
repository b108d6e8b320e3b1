import type { JSX } from 'preact';
import type { TunnelStatus } from '../../../shared/snapshot.ts';
import { retryWords } from '../../model/tunnel-state.ts';
import { useTime } from '../../view/clock.ts';
import { FindOutWhy } from '../../view/find-out-why.tsx';
import { Notice } from '../../view/parts.tsx';

/** Why the connection is lost, and when the next attempt comes. */
export function Retry({
  status,
  of,
}: {
  status: Extract<TunnelStatus, { name: 'reconnecting' }>;
  /** the tunnel */
  of: { readonly key: string; readonly slug: string };
}): JSX.Element {
  const words = useTime((now) => retryWords(status, now));
  return (
    <Notice>
      <div class="outage">
        <span>
          {status.why} {words}
        </span>
        <FindOutWhy of={of} />
      </div>
    </Notice>
  );
}
