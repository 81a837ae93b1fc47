def work(payload):
    return "package.work.work"


class Model:
    def predict(self, payload):
        return "package.work.Model.predict"
