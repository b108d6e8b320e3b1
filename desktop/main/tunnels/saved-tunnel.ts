/** A tunnel as the app remembers it between two starts. */
import * as yup from 'yup';
import type { Tunnel } from '../../../shared/tunnel.ts';
import type { KeptForm } from '../../shared/ipc.ts';
import type { LogView } from '../../shared/log.ts';
import { tunnelFormSchema } from './create-form-schema.ts';

/** A tunnel that this app created. */
export interface SavedTunnel {
  readonly key: string;
  readonly form: KeptForm;
  readonly tunnel: Tunnel;
  /** why it has ended, if it has */
  readonly ended: { readonly reason: string; readonly why: string } | undefined;
  /** what of its request log the user wants to see; all of it without */
  readonly logView?: LogView | undefined;
}

const text = yup.string().defined();

/** Checks all but the tunnel itself, which the relay has given. */
export const savedTunnelSchema = yup
  .object({
    key: text,
    form: tunnelFormSchema,
    tunnel: yup.mixed<Tunnel>().required(),
    ended: yup.object({ reason: text, why: text }).default(undefined),
    logView: yup.object({ part: text, search: text }).default(undefined),
  })
  .required();
