/** The bundler writes styles to main.css beside main.js. */
declare module '*.css';

/**
 * The part of Trusted Types that the window uses (W3C, https://www.w3.org/TR/trusted-types/); TypeScript lacks it so
 * far.
 */
declare const trustedTypes: {
  createPolicy(
    name: string,
    rules: { createHTML(text: string): string },
  ): { createHTML(text: string): string };
};
