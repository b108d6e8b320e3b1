/** The agent alone: the rest of undici is part of Node. */
declare module 'undici/lib/dispatcher/agent.js' {
  export { Agent as default } from 'undici';
}
