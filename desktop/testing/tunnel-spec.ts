import { OPEN } from '../../shared/access.ts';
import { localPort } from '../client/local/local-service.ts';
import { SPEC_DEFAULTS, type TunnelSpec } from '../client/config/tunnel-spec.ts';

/** The tunnel to port 3000 that `culvert http 3000` opens. */
export const SPEC: TunnelSpec = {
  ...SPEC_DEFAULTS,
  access: OPEN,
  label: undefined,
  target: localPort(3000),
  name: undefined,
  domain: undefined,
  ttl: undefined,
};
