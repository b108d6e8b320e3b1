/** Every command of `culvert` as read: what the programs that carry it out take. */
import type { Project } from '../client/config/project.ts';
import type { FoundRelay, RelayAccess } from '../client/config/relay-access.ts';
import type { Login } from '../client/config/stored-login.ts';
import type { TunnelSpec } from '../client/config/tunnel-spec.ts';
import type { Network } from '../client/network/network.ts';
import type { LinkRequest } from '../client/relay/api-responses.ts';
import type { InvitationAddress } from '../client/relay/invitation.ts';
import type { RelayAddress } from '../client/relay/relay-address.ts';
import type { AccessOptions } from './access-options.ts';
import type { InspectCommand } from './inspect-arguments.ts';
import type { CommandName, Shell } from './options.ts';
import type { Target } from './parse.ts';
import type { OnceOnline } from './view/once-online.ts';

/** `culvert http`, and `culvert share`, whose tunnel has a folder. */
export interface HttpCommand extends RelayAccess {
  readonly command: 'http';
  readonly tunnel: Omit<TunnelSpec, 'access'>;
  readonly wanted: AccessOptions;
  readonly onceOnline: OnceOnline;
}
export interface StartCommand extends RelayAccess {
  readonly command: 'start';
  /** path of the file that the tunnels are from */
  readonly project: string;
  readonly tunnels: readonly TunnelSpec[];
  readonly onceOnline: OnceOnline;
}
export interface ListCommand extends RelayAccess {
  readonly command: 'list';
}
export interface StatusCommand extends RelayAccess {
  readonly command: 'status';
}
export interface CloseCommand extends RelayAccess {
  readonly command: 'close';
  /** id or slug */
  readonly tunnel: string;
}
export interface ExtendCommand extends RelayAccess {
  readonly command: 'extend';
  /** id or slug */
  readonly tunnel: string;
  readonly ttl: string | undefined;
}
export interface AccessCommand extends RelayAccess {
  readonly command: 'access';
  /** id or slug */
  readonly tunnel: string;
  /** `undefined`: it is only shown */
  readonly wanted: AccessOptions | undefined;
}
export interface LinkCommand extends RelayAccess {
  readonly command: 'link';
  readonly action:
    { readonly name: 'make'; readonly tunnel: string; readonly link: LinkRequest } | RevokeLink;
}
interface RevokeLink {
  readonly name: 'revoke';
  readonly link: string;
}
export interface LinksCommand extends RelayAccess {
  readonly command: 'links';
  /** id or slug */
  readonly tunnel: string;
}
export interface KnockCommand extends RelayAccess {
  readonly command: 'knock';
  /** id or slug */
  readonly tunnel: string;
  readonly knock: string;
  readonly admit: boolean;
  /** for how long the visitor is let in, a duration string; `undefined` for the relay's default */
  readonly duration: string | undefined;
}
export interface DomainCommand extends RelayAccess {
  readonly command: 'domain';
  readonly action:
    | { readonly name: 'list' }
    /** `domain` as given, for `verify` and `remove` also an id */
    | { readonly name: 'add' | 'verify' | 'remove'; readonly domain: string };
}
export interface LoginCommand {
  readonly command: 'login';
  /** the relay to sign in to */
  readonly relay: RelayAddress;
  /** where its address is from, for people */
  readonly relayFrom: string;
  /** whether an unencrypted relay is accepted */
  readonly insecure: boolean;
  /** certificates (PEM) of authorities to trust for this relay from now on */
  readonly ca: string | undefined;
  /** given by `--key`; otherwise the user is asked for it */
  readonly key: string | undefined;
  /** gives the key instead */
  readonly invitation?: InvitationAddress | undefined;
  readonly network: Network;
  readonly json: boolean;
}
export interface DoctorCommand extends FoundRelay {
  readonly command: 'doctor';
  /** the local service to check; `undefined` for none */
  readonly target: Target | undefined;
  readonly network: Network;
  readonly json: boolean;
}
export interface LogoutCommand {
  readonly command: 'logout';
  readonly json: boolean;
}
export interface HelpCommand {
  readonly command: 'help';
  /** the command that is explained; `undefined` for all of them */
  readonly topic: CommandName | undefined;
}
export type Command =
  | HttpCommand
  | StartCommand
  | ListCommand
  | StatusCommand
  | CloseCommand
  | ExtendCommand
  | AccessCommand
  | LinkCommand
  | LinksCommand
  | KnockCommand
  | DomainCommand
  | InspectCommand
  | DoctorCommand
  | LoginCommand
  | LogoutCommand
  | HelpCommand
  | { readonly command: 'completion'; readonly shell: Shell }
  | { readonly command: 'man' }
  | { readonly command: 'version' };

/** Files that a command line may refer to; read only if it does. */
export interface Files {
  /** what `culvert login` has stored */
  readLogin(): Login | undefined;
  /** @param path as given by `--config` */
  readProject(path: string | undefined): Project;
}
