export type ChannelMessage = string | Buffer

export interface ChannelClosing {
  /** Of the protocol of WebSockets. */
  code: number
  reason: string
}

/** One end of a channel's connection. Messages that arrive before somebody receives them wait. */
export interface ChannelPort {
  /** Resolves when the connection takes more; at once if it has been closed, when the message is dropped. */
  send(message: ChannelMessage): Promise<void>
  /** Called once. The next message comes when `take` is done with the one before. */
  receive(take: (message: ChannelMessage) => Promise<void> | void): void
  close(code: number, reason: string): void
  /** When it is closed by either side, and all that had arrived has been taken. Never rejects. */
  readonly closed: Promise<ChannelClosing>
}
