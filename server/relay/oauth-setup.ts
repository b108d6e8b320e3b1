/** Sets up what lets agents in by OAuth: the gate at tunnels, and the endpoints at the relay's own host. */
import type { KeyRing, LinkTokens } from '../access/passes.ts';
import { Seals } from '../access/seals.ts';
import type { SignIn } from '../access/sign-in.ts';
import { systemClock as clock } from '../clock.ts';
import type { Peering } from '../cluster/peering.ts';
import type { VisitorAccess } from '../edge/visitor-access.ts';
import type { Log } from '../log.ts';
import { AgentGate } from '../oauth/agent-gate.ts';
import { AgentTokens } from '../oauth/agent-tokens.ts';
import { APPROVAL_RATE, Authorization } from '../oauth/authorization.ts';
import { ClientDocuments } from '../oauth/client-documents.ts';
import { Clients, REGISTRATION_RATE } from '../oauth/clients.ts';
import { AgentEntrance } from '../oauth/entrance.ts';
import type { OAuthDeps } from '../oauth/oauth-routes.ts';
import { RegistrationList } from '../oauth/registrations.ts';
import { TokenEndpoint } from '../oauth/token-endpoint.ts';
import { RateLimiter } from '../rate-limiter.ts';
import type { Store } from '../store/store.ts';
import type { TunnelAgents } from '../tunnels/tunnel-agents.ts';
import type { TunnelApprovals } from '../tunnels/links-and-approvals.ts';
import type { OnceLinks } from '../tunnels/once-links.ts';

interface OAuthSetupOptions {
  readonly store: Store;
  readonly agents: TunnelAgents;
  /** keys that are good for as long as a registration */
  readonly keys: KeyRing;
  readonly links: LinkTokens;
  readonly onceLinks: OnceLinks;
  readonly knocks: TunnelApprovals;
  readonly isGood: (tunnelId: string, visitor: string) => boolean;
  readonly signIn: SignIn;
  readonly peering: Pick<Peering, 'limit' | 'registrations'>;
  readonly publicUrl: () => URL;
  /** address of a link for complaints */
  readonly contact: string | undefined;
  readonly log: Log;
}

interface OAuthSetup {
  readonly entrance: AgentEntrance;
  /** The endpoints, once visitors can be checked and tunnels found. */
  readonly endpoints: (
    visitorAccess: Pick<VisitorAccess, 'checkPassword'>,
    tunnelAt: OAuthDeps['tunnelAt'],
  ) => OAuthDeps;
}

/** @throws StoreError */
export async function setUpOAuth({
  store,
  agents,
  keys,
  links,
  onceLinks,
  knocks,
  isGood,
  signIn,
  peering,
  publicUrl,
  contact,
  log,
}: OAuthSetupOptions): Promise<OAuthSetup> {
  const tokens = new AgentTokens(await store.relaySecret('agents', clock.now()));
  const seals = new Seals(
    () => keys.keys,
    () => clock.now(),
  );
  const clients = new Clients({
    documents: new ClientDocuments(clock),
    seals,
    limit: peering.limit(new RateLimiter(clock, REGISTRATION_RATE), REGISTRATION_RATE),
    registrations: peering.registrations(new RegistrationList(clock)),
  });
  const gate = new AgentGate({ store, tokens, agents, clock });
  return {
    entrance: new AgentEntrance({ gate, seals, publicUrl }),
    endpoints: (visitorAccess, tunnelAt) => ({
      authorization: new Authorization({
        store,
        seals,
        tokens,
        clients,
        links,
        onceLinks,
        knocks,
        checkPassword: async (tunnel, access, network, password) =>
          await visitorAccess.checkPassword(tunnel, access, network, password),
        isGood,
        signIn,
        approvals: peering.limit(new RateLimiter(clock, APPROVAL_RATE), APPROVAL_RATE, 'approvals'),
        publicUrl,
        clock,
        log,
      }),
      clients,
      tokenEndpoint: new TokenEndpoint({ store, tokens, agents, clock }),
      tunnelAt,
      isSecure: () => publicUrl().protocol === 'https:',
      contact,
    }),
  };
}
