import { WebSocket } from 'ws'

/** A connection abandoned while it is being made emits an error for which nobody listens any more. */
export class NodeWebSocket extends WebSocket {
  constructor(url: string, protocols?: string | string[]) {
    super(url, protocols)
    this.on('error', () => {})
  }
}
