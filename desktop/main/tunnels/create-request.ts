import type { CreateRequest } from '../../engine/relay/api-client.ts';
import type { CreateForm } from '../../shared/ipc.ts';

/** What the relay is asked for a form; what is left open is the relay's to choose. */
export function createRequest({ port, name, ttl, idle }: CreateForm): CreateRequest {
  return {
    local_port: port,
    ...(name === '' ? {} : { name }),
    ...(ttl === '' ? {} : { ttl }),
    idle_ttl: idle,
  };
}
