/**
 * Loaded by mocha with `--require`: replaces the relay of every suite with three behind nginx, which forwards bytes.
 */
import { BalancedRelays } from '../support/balanced-relays.ts';
import { startStreamBalancer } from '../support/native-server.ts';
import { replaceRelay } from '../support/programs.ts';
import { leaveExceptionsOut } from './not-through-balancer.ts';

replaceRelay((scope, settings = {}) => BalancedRelays.start(scope, settings, startStreamBalancer));

export const mochaHooks = leaveExceptionsOut('stream');
