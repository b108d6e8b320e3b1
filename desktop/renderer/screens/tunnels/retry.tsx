import type { JSX } from 'preact';
import type { TunnelStatus } from '../../../shared/snapshot.ts';
import { retryWords } from '../../model/tunnel-state.ts';
import { useTime } from '../../view/clock.ts';
import { Notice } from '../../view/parts.tsx';

/** Why the connection is lost, and when the next attempt comes. */
export function Retry({ status }: { status: Extract<TunnelStatus, { name: 'reconnecting' }> }): JSX.Element {
  const words = useTime((now) => retryWords(status, now));
  return (
    <Notice>
      {status.why} {words}
    </Notice>
  );
}
