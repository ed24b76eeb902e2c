// What a request was answered with that could not be carried out.

export class Failure extends Error {
  constructor(answer) {
    super(answer.error);
    this.kind = answer.kind;
    this.diagnostics = answer.diagnostics || [];
  }
}
