/** Every path that has a page. The server answers these, and no other, with the page that loads the program. */
export const UI_PATHS = ['/', '/login', '/chains', '/chains/$chainId', '/retries', '/policy'] as const
