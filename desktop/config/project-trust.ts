/** What a `culvert.yml` cannot do by itself, because it may be somebody else's (docs/command.md). */
import { isLoopback } from '../engine/network/loopback.ts';
import type { RelayAddress } from '../engine/relay/relay-address.ts';
import { ProjectFileError } from './project-error.ts';
import type { Project } from './project.ts';
import type { TunnelSpec } from './tunnel-spec.ts';

/** The part of a {@link Project} that chooses the relay. */
export interface ProjectRelay extends Pick<Project, 'path'> {
  readonly relay: RelayAddress;
}

/**
 * A key without a relay of its own is sent to the relay of a file only if it would go there without the file, too.
 *
 * @param without the relay that would be used without the file
 * @param keyFrom where the key is from, for people
 * @throws ProjectFileError
 */
export function checkRelay({ path, relay }: ProjectRelay, without: RelayAddress, keyFrom: string): void {
  const { origin } = relay;
  if (origin === without.origin) return;
  throw new ProjectFileError(
    `${path}: relay: ${origin} gets the key of ${keyFrom} only where you name that relay, too: ` +
      `if you trust it, set CULVERT_RELAY=${origin} or give --relay ${origin}.`,
  );
}

/** Whether a tunnel leads to another machine, which visitors would reach through this one. */
export function leadsElsewhere({ localHost }: Pick<TunnelSpec, 'localHost'>): boolean {
  return !isLoopback(localHost);
}

/**
 * The author of the file may know what is in the network of the person who starts it.
 *
 * @throws ProjectFileError for a tunnel that leads to another machine
 */
export function checkLocalHosts({ path, tunnels }: Pick<Project, 'path' | 'tunnels'>): void {
  for (const { label, localHost } of tunnels) {
    if (!leadsElsewhere({ localHost })) continue;
    throw new ProjectFileError(
      `${path}: tunnels.${label}.local_host: "${localHost}" is another machine, which visitors would reach through this one: ` +
        'it takes localhost or an address of it, or anything with --allow-other-hosts.',
    );
  }
}
