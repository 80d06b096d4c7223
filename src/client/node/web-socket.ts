import { WebSocket } from 'ws'

/** A connection that is given up while it is being made tells so by an error that nobody listens for any more. */
export class NodeWebSocket extends WebSocket {
  constructor(url: string, protocols?: string | string[]) {
    super(url, protocols)
    this.on('error', () => {})
  }
}
