/** In a data directory: the URL of the server that runs on it, for clients of the same machine. */
export const SERVER_URL_FILE = 'server-url'
