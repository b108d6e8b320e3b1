/** The addresses of this machine. */
import { networkInterfaces, type NetworkInterfaceInfo } from 'node:os';

/**
 * @param read asks the system
 * @returns `undefined` if the system does not say: asking needs a file descriptor, and visitors may have taken all of
 *   them
 */
export function machineAddresses(read = networkInterfaces): NetworkInterfaceInfo[] | undefined {
  try {
    return Object.values(read()).flatMap((addresses) => addresses ?? []);
  } catch {
    return undefined;
  }
}
