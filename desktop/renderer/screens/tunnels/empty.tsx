import type { JSX } from 'preact';
import type { PortView } from '../../../shared/snapshot.ts';
import { programName } from '../../model/ports.ts';
import { Mark } from '../../view/icons.tsx';

/** The list before the first tunnel: what to do, in two lines. */
export function Empty({ ports }: { ports: readonly PortView[] }): JSX.Element {
  const [likeliest] = ports;
  const program = likeliest === undefined ? undefined : (programName(likeliest) ?? 'A server');
  return (
    <div class="empty">
      <Mark size={72} />
      <h2>Nothing is exposed</h2>
      <p class="dim">
        {likeliest !== undefined
          ? `${program} is running on port ${likeliest.port}. Press Expose to give it a public address.`
          : 'Start your local server, type its port below, and press Expose to give it a public address.'}
      </p>
    </div>
  );
}
