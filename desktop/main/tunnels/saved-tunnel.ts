/** A tunnel as the app remembers it between two starts. */
import * as yup from 'yup';
import type { Tunnel } from '../../../shared/tunnel.ts';
import type { TunnelForm } from '../../shared/ipc.ts';
import { tunnelFormSchema } from './create-form-schema.ts';

/** A tunnel that this app created. */
export interface SavedTunnel {
  readonly key: string;
  readonly form: TunnelForm;
  readonly tunnel: Tunnel;
  /** why it has ended, if it has */
  readonly ended: { readonly reason: string; readonly why: string } | undefined;
}

const text = yup.string().defined();

/** Checks all but the tunnel itself, which the relay has given. */
export const savedTunnelSchema = yup
  .object({
    key: text,
    form: tunnelFormSchema,
    tunnel: yup.mixed<Tunnel>().required(),
    ended: yup.object({ reason: text, why: text }).default(undefined),
  })
  .required();
