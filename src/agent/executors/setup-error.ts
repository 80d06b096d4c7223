/** What an executor is to use cannot be used from here. The message is for people. */
export class ExecutorSetupError extends Error {}
