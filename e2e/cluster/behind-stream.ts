/** Loaded by mocha with `--require`: the relay of every suite is three of them behind nginx, which passes on bytes. */
import { BalancedRelays } from '../support/balanced-relays.ts';
import { startStreamBalancer } from '../support/native-server.ts';
import { replaceRelay } from '../support/programs.ts';
import { leaveExceptionsOut } from './not-through-balancer.ts';

replaceRelay((scope, settings = {}) => BalancedRelays.start(scope, settings, startStreamBalancer));

export const mochaHooks = leaveExceptionsOut('stream');
